// Package plan finds the operations that lead an application to a goal, and
// checks plans that others made. It knows management protocols and who offers
// what to whom, nothing of TOSCA's files, and starts no goroutine. The same
// problem gives the same plan, unless its context ends the search.
//
// # The rules
//
// The situation of an application is the state of each of its elements:
// containers, components and volumes. These are the rules of management
// protocols:
//
//   - A requirement of an element is bound to a capability of another. It holds
//     while the other is in a state that offers the capability. Bound to
//     several, it holds while all of them are; bound to none, it always holds.
//   - Where something that a state requires is not offered, the element has a
//     fault. A plan may begin with faults; no step adds one.
//   - A step is one operation of one element. It is allowed when the element's
//     protocol allows the operation, when all that the transition and its target
//     state require holds, and when it withdraws nothing that another element
//     requires in its state. So nothing is stopped under those who need it; they
//     are stopped before, by steps of the plan.
//   - An operation that is not implemented changes the state and runs nothing, so
//     it can be skipped (see [protocol.Protocol.Allowed]). The element goes from
//     its state to the target at once and is never in the states between, which
//     therefore neither require nor offer; but what the skipped transitions
//     require must hold, as if they had been made one by one. Such an operation
//     may also be a step of its own, and counts as one.
//   - Nothing is skipped while an element is open: from a start that is
//     implemented, which may leave processes, to a stop. Where only the state of
//     an element is known at the start, it is open if it can be in that state,
//     unless the problem says that it is not.
//   - The levels of a plan are made one after the other. The steps of one level
//     are of different elements, and any order of them is allowed, so that they
//     can be made at the same time: what one of them needs, none of the others
//     begins or ceases to offer.
//   - A plan reaches a goal when each element that the goal names is in its
//     state, and each operation that must run did, at least once.
//
// A plan has the fewest operations that reach the goal and, of such plans, the
// fewest levels, unless it says that this is not proven.
//
// # How plans are found
//
// Elements that do not affect each other are planned apart. Each element has
// paths: the shortest ones through its protocol to its goal and through states
// that offer what others cannot do without. Their lengths together are a lower
// bound of any plan. Where each capability is offered once along the path of its
// element, the paths are ordered by who waits for whom, and that is a plan; where
// its length is the bound, it is minimal. Otherwise A* searches the situations,
// guided by the same bound.
package plan
