// Command service prints how a compose file starts one of its services, for scripts/dist-check, which has no container
// engine:
//
//	service FILE SERVICE environment|command|healthcheck
//
// environment prints NAME=VALUE for each variable, command the arguments for the program of the image, and healthcheck
// the command that the engine runs in the container. Each item ends in a zero byte. Variables of this process are used
// as docker compose uses them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// run prints what the arguments ask for.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: service FILE SERVICE environment|command|healthcheck")
	}
	options, err := cli.NewProjectOptions(args[:1], cli.WithWorkingDirectory(filepath.Dir(args[0])), cli.WithOsEnv,
		cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	project, err := options.LoadProject(ctx)
	if err != nil {
		return err
	}
	service, err := project.GetService(args[1])
	if err != nil {
		return err
	}
	items, err := describe(service, args[2])
	for _, item := range items {
		if _, err := io.WriteString(stdout, item+"\x00"); err != nil {
			return err
		}
	}
	return err
}

// describe returns one property of a service. A service that lacks it is an error, so that a script never runs
// something else.
func describe(service types.ServiceConfig, property string) ([]string, error) {
	switch property {
	case "environment":
		var set []string
		for name, value := range service.Environment {
			if value != nil {
				set = append(set, name+"="+*value)
			}
		}
		slices.Sort(set)
		return set, nil
	case "command":
		if len(service.Command) > 0 && service.Entrypoint == nil {
			return service.Command, nil
		}
		return nil, fmt.Errorf("%s has no command for the program of its image", service.Name)
	case "healthcheck":
		if check := service.HealthCheck; check != nil && len(check.Test) > 1 && check.Test[0] == "CMD" {
			return check.Test[1:], nil
		}
		return nil, fmt.Errorf("%s has no health check that runs without a shell", service.Name)
	}
	return nil, fmt.Errorf("unknown property %q", property)
}
