"""What the four criteria mean, with anchors: the rubric of the model judge."""

RUBRIC = """\
Score four criteria, each 0-10 by its anchors; odd and fractional scores lie between two anchors.

completeness: does the answer say everything that the question asks for? Where there is a
reference, it is the measure; an answer may say more.
10 all of it; 8 all but a detail; 6 the main point, with gaps; 4 half; 2 a trace; 0 none of it.

precision: is what it says right? Hold every name, number, date and negation against the reference
and the fragments.
10 every statement is supported; 8 one harmless inexactness; 6 a doubtful statement; 4 a wrong or
unsupported statement; 2 mostly wrong or invented; 0 contradicts the reference, or there are no
fragments and the answer is invented.

sources: do its claims name fragments, as [n], that really hold them?
10 every claim; 8 all but a minor one; 6 fragments are only listed, or half of the claims are
marked; 4 marks are often wrong; 2 hardly any mark is right; 0 none, or invented numbers.

concision: is it free of padding, repetition and what was not asked?
10 nothing to leave out; 8 a few words; 6 a sentence too many; 4 as much padding as content;
2 mostly padding; 0 nothing but padding.

An answer that only says that the sources are silent: if they are, 10 for every criterion; if they
hold an answer, completeness 0, precision 5, sources 0, concision 5. An answer to a question that
the sources do not answer: 0 for every criterion."""
