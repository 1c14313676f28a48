// Package goal decides what is to be done next, so that an application becomes
// and stays what its goal says. Everything in it is a pure function of its
// arguments: it reads no clock, asks nobody and starts no goroutine.
//
//   - A [Document] is what people ask for: states of components, containers or
//     groups, and the components that the goal leaves alone.
//   - A [Model] is the application: protocols, who requires what of whom, and on
//     which container a component is.
//   - A [Situation] is what was last heard of every replica.
//   - [Model.Decide] makes of these the steps that can be made now, what is in the way
//     of others, and when to ask again if nothing happens. [Model.Continue] does so
//     along the plan of the decision before, for as long as nothing leaves it.
//
// A component that the goal does not name keeps its state, unless what the goal
// names requires something of it.
package goal
