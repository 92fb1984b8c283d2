"""Objects across the sandbox's wall: tests in one child use objects that live in another.

Two children communicate: one has the tests, the other has the program. Plain data crosses as a copy. Everything else
stays where it was made, and the other child receives a *proxy*. Attributes, calls, operators, iteration, `with`,
`await`
and exceptions of a proxy travel as operations to the child that owns the object. Both children run the same code:

| module | what |
|---|---|
| `plain` | immutable values that cross as copies |
| `containers`, `frames` | lists, dictionaries, arrays and other values that change: each child has a copy |
| `natives` | classes and functions of Python itself, which cross as names |
| `describe` | the description of an object's class for the other child |
| `mirror` | the proxies |
| `border` | values to JSON and back, with the tables of lent and borrowed objects |
| `peer` | operations: requesting them, and carrying them out |
| `tests` | the child with the tests: output, and verdicts that the program can't decide |
| `names` | names of the program, as test code finds them |
| `near` | values that differ a little, for testing claims of equality |
| `program` | the child with the program |

The child with the program may be hostile: all its messages are checked like any other record (`values`). Test
code and expected values never go there, except as arguments of the program's own functions. The rules that keep a
program from deciding its own verdict are in `tests`.
"""
