// Package goal decides the next steps that make an application reach and keep the state in its goal. Decisions are
// pure functions of their arguments. The package sends no requests and starts no goroutine.
//
//   - A [Document] is the requested goal: states of components, containers or
//     groups, and the components on hold.
//   - A [Model] is the application: protocols, requirements, and the container of
//     each component.
//   - A [Situation] is the last known state of every replica. An [Observer]
//     derives it from the mirror.
//   - [Model.Decide] derives the steps that can run now, the obstacles of the
//     others, and when to decide again if nothing happens. [Model.Continue] does so
//     along the previous decision's plan while the states are consistent with it.
//
// A component that the goal does not name keeps its state, unless a named component requires something of it.
package goal
