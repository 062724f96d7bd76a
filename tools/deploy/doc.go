// Package deploy tests what the directory deploy offers to those who run the service: the chart for Kubernetes and the
// compose file, in the source tree and in the archives of a release.
//
// Its promise: what they render is what Kubernetes and a container engine accept, obeys the restricted Pod Security
// Standard, and starts the product as it is. There is neither a cluster nor a container engine: objects are decoded and
// validated by the code of the Kubernetes API server, and the command of every container is run on this machine with
// its arguments and variables. It is a module of its own, so that what this needs is not in the product. Start reading
// at TestChart.
package deploy
