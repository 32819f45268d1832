// What a cluster is made of, in one program: by its first argument the API server, the controllers, the scheduler, kubectl, or nodes that
// are hollow. All but those are what clusters run.
package main

import (
	"fmt"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: kube apiserver|controllers|scheduler|kubectl|nodes …")
		os.Exit(2)
	}
	what := os.Args[1]
	os.Args = append([]string{what}, os.Args[2:]...)
	switch what {
	case "apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "controllers":
		os.Exit(cli.Run(controllers.NewControllerManagerCommand()))
	case "scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
	case "nodes":
		if err := nodes(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "nodes:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr, "kube: there is no", what)
		os.Exit(2)
	}
}
