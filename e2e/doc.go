// Package e2e tests the whole path on a real Docker engine, with the binaries
// as users have them: a CSAR is packaged, deployed, and managed through the
// manager's REST API, by Compose and on a one-node Swarm, also from a registry
// that images were pushed to. It holds tests only.
//
// They use the engine that DOCKER_HOST, or Docker's current context, names.
// Whatever they make has a name of its own and is removed; what is deployed by
// Compose and what is on the Swarm run side by side. An engine that is in a swarm
// already is used and never leaves it; another leaves it when all tests have ended. Without an engine they are
// left out.
//
// The module has more packages of tests, each with what it needs beside the product: api and web
// (the manager's API and page), browser (Chromium for both), kubernetes and schema (manifests and
// documents), and skew (the previous release). Only this module requires their libraries; go.work
// joins it with the product's, so that commands at the top of the repository know both.
//
// The applications are Thinking, of examples, small ones for single questions, and Graphite,
// whose tests have the build tag graphite, since its images are made of many packages.
//
// Those with the build tag chaos take engines, links and machines away, which
// scripts/lab.sh makes for them.
package e2e
