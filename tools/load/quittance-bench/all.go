package main

import (
	"errors"
	"fmt"
)

type allCmd struct {
	ownFlags
	Quick bool `help:"Use small sizes, to see whether everything works rather than how fast it is."`
}

// Help is shown by --help.
func (allCmd) Help() string {
	return `Example:
  quittance-bench all
  quittance-bench all --quick --json

Each measurement has its own deployment and the default sizes of its own command. soak, which takes an hour, is left out.
With --json it prints one record per line.`
}

// measurements returns the subcommands that allCmd runs, each with the flags that make it quick.
func measurements() [][]string {
	return [][]string{
		{"drafts", "--clients=4", "--count=60", "--duration=1m"},
		{"submissions", "--clients=4", "--companies=2", "--count=20", "--provider-latency=5ms"},
		{"deliveries", "--count=200", "--idle=10ms"},
		{"latency", "--clients=4", "--rate=10", "--warmup=100ms", "--duration=1s"},
		{"fairness", "--clients=4", "--due=40", "--rate=10", "--warmup=100ms", "--duration=1s"},
		{"lists", "--drafts=500", "--count=10"},
		{"start", "--size-mb=1", "--count=1"},
		{"limits", "--clients=4"},
	}
}

// Run runs every measurement as its own command line would, and continues after one that failed.
func (c allCmd) Run(env environment) error {
	var failed []error
	for _, measurement := range measurements() {
		if env.ctx.Err() != nil {
			return errors.Join(append(failed, env.ctx.Err())...)
		}
		var root cli
		parser, err := root.parser()
		if err != nil {
			return err
		}
		args := append([]string{measurement[0]}, c.arguments(measurement[0])...)
		if c.Quick {
			args = append(args, measurement[1:]...)
		}
		command, err := parser.Parse(args)
		if err != nil {
			return fmt.Errorf("%s: %w", measurement[0], err)
		}
		if err := command.Run(env); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// arguments returns the shared flags for one of the measurements.
func (c allCmd) arguments(measurement string) []string {
	args := []string{"--progress=" + c.Progress, "--limit-duration=" + c.LimitDuration.String()}
	if c.JSON {
		args = append(args, "--json")
	}
	if c.Dir != "" {
		args = append(args, "--dir="+c.Dir)
	}
	if measurement == "limits" {
		return args
	}
	if c.Binary != "" {
		args = append(args, "--binary="+c.Binary)
	}
	if c.Database != "" {
		args = append(args, "--database="+c.Database)
	}
	for _, flag := range c.ServeFlag {
		args = append(args, "--serve-flag="+flag)
	}
	return args
}
