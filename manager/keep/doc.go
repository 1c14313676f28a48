// Package keep makes an application what its goal says, and keeps it so. It
// observes, lets [goal.Model.Decide] say what to do, runs that, and observes
// again. The state lives in the units: each of them stores the goal, a document
// that the manager signs, and their journals record what was done. So a Keeper that
// begins again has lost nothing. A document that is not signed is ignored and reported.
//
// A Keeper acts when all replicas have said which goal they keep, or after a
// while when more than half have. Until then it observes.
//
// Run owns a goroutine for each operation that is under way and for each unit
// that is asked for its document; all of them end with its context.
package keep
