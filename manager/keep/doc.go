// Package keep makes an application reach and keep the state in its goal. It observes, calls [goal.Model.Decide],
// runs the resulting steps, and observes again. The state is stored in the units: each stores the goal, a document
// that the manager signs, and their journals record the operations. A Keeper that restarts has therefore lost
// nothing. Unsigned documents are ignored and reported.
//
// A Keeper acts when all replicas have reported which goal they store or, after a delay, when a majority has.
// Until then it only observes.
//
// Run owns a goroutine for each running operation and for each request to a unit for its document; all of them end
// with its context.
package keep
