// Package plan finds the operations that bring an application to a goal, and checks plans
// made elsewhere. It works on management protocols and on the bindings between requirements
// and capabilities, independently of TOSCA's files, and starts no goroutine. The same problem
// gives the same plan, unless its context ends the search.
//
// # The rules
//
// The situation of an application is the state of each of its elements: containers,
// components and volumes. These are the rules of management protocols:
//
//   - A requirement of an element is bound to a capability of another element. It holds
//     while the other element is in a state that offers the capability. A requirement with
//     several bindings holds while all of them do; without a binding, it always holds.
//   - An element has a fault while its state requires a capability that is not offered. A
//     plan may start with faults; no step adds one.
//   - A step is one operation of one element. It is allowed if the element's protocol allows
//     the operation, if all requirements of the transition and of its target state hold, and
//     if it withdraws no capability that the current state of another element requires. So
//     the dependents of an element are stopped first, by earlier steps of the plan.
//   - An operation that is not implemented changes the state and runs nothing, so it can be
//     skipped (see [protocol.Protocol.Allowed]). The element moves directly to the target
//     state and is never in the states between, which therefore neither require nor offer
//     anything; but the requirements of the skipped transitions must hold, as if they had
//     been made one by one. Such an operation may also be a separate step, and counts as one.
//   - No operation is skipped while an element is open: from an implemented start, which may
//     leave processes, to a stop. If only the state of an element is known at the start, the
//     element is open if it can be open in that state, unless the problem excludes it.
//   - The levels of a plan are executed one after the other. The steps of one level belong to
//     different elements and are allowed in any order, so they can run in parallel: no step
//     begins or ceases to offer a capability that another step of the level needs.
//   - A plan reaches a goal if each element named in the goal is in its state, and each
//     operation that must run ran at least once.
//
// A plan has the fewest operations that reach the goal and, of such plans, the fewest
// levels, unless it states that this is not proven.
//
// # How plans are found
//
// Elements that do not affect each other are planned separately. Each element has paths: the
// shortest ones through its protocol to its goal and through states that offer capabilities
// necessary for other elements. The sum of their lengths is a lower bound for any plan. If
// each capability is offered only once along the path of its element, ordering the paths by
// their dependencies gives a plan, which is minimal if its length equals the bound.
// Otherwise A* searches the situations, guided by the same bound.
package plan
