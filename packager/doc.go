// Package packager turns an application's model and its toskose.yml into a
// plan: the images to build, the services, volumes, networks and secrets that
// run them. The plan is pure data: the same input gives the same plan, and the
// packages below this one execute it. It starts no goroutine.
package packager
