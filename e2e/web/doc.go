// Package web is a test: it operates the page of manager/web in a browser, with a manager whose
// units are simulated.
package web
