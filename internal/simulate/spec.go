// Package simulate runs the unmodified controller in virtual time, outside of tests, and says what it cost: the bill beside the
// least that it could have been, how long pods waited, which were moved, what was interrupted, what was refused. It compares
// configurations on the same workload, and checks assertions.
//
// One run is one process: a worker is this program again, with a Spec on its standard input (Work), because a bubble of virtual
// time has all of a process. Play is a run inside such a process; Run starts workers, Compare compares what they return.
package simulate

import (
	"errors"
	"fmt"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// What is assumed of AWS and of clusters unless told otherwise.
const (
	// DefaultInterruptions is how often a spot instance is interrupted, per hour: 5 % in a month.
	//
	// Source: AWS Spot Instance Advisor, "the average frequency of interruption across all Regions and instance types is <5%",
	// which is a share of instances in a month.
	DefaultInterruptions = 0.05 / report.HoursPerMonth
	// DefaultVolatility is the standard deviation of what a spot price changes by in a day, as a part of it. AWS says that prices
	// "adjust gradually, based on long-term trends in supply and demand" (EC2 User Guide, Spot Instances) and gives no figure; this
	// one is an assumption.
	DefaultVolatility = 0.02
	// DefaultBoot is how long an instance takes from its launch until its node is ready: Amazon Linux 2023 takes 30 to 50 seconds.
	DefaultBoot = 40 * time.Second
	// DefaultWarmup is how long the controller runs with what the workload has at its start before anything is counted, so that the
	// first launch of all pods at once does not stand for a day.
	DefaultWarmup = 15 * time.Minute
	// DefaultRegion is where clusters are that do not say where.
	DefaultRegion = "us-east-1"
)

// How far the points of a series lie apart: so little that runs of up to an hour have up to sampleShort of them, sampleEvery in runs of
// up to a week, and in longer ones so much that they have as many as a week. Each takes the work of a floor.
var sampleOften = []time.Duration{10 * time.Second, 30 * time.Second, time.Minute}

const (
	sampleEvery = 5 * time.Minute
	sampleShort = 60
	sampleMost  = 7 * 24 * 12
)

// Spec is one run: everything that decides what happens.
type Spec struct {
	// Configuration is its name, such as the folder that it is from.
	Configuration string `json:"configuration"`
	// Manifests are the NodePools and EC2NodeClasses as they are applied, and what was changed for the simulated account.
	Manifests []Manifest `json:"manifests"`
	// Settings are those of the controller, by their environment variables.
	Settings map[string]string  `json:"settings,omitempty"`
	Workload *workload.Workload `json:"workload"`
	Horizon  time.Duration      `json:"horizon"`
	// Start is when the workload starts, since Monday 00:00 UTC: schedules of disruption budgets go by it.
	Start  time.Duration `json:"start"`
	Warmup time.Duration `json:"warmup"`
	Seed   uint64        `json:"seed"`
	Region string        `json:"region"`
	// RegionUnknown says that nothing said where, and Region is DefaultRegion.
	RegionUnknown bool `json:"regionUnknown,omitempty"`
	// Types are the instance types that exist; all of the region if empty.
	Types []string `json:"types,omitempty"`
	// Interruptions is the chance of a spot instance to be interrupted in an hour, Volatility the standard deviation of what a spot
	// price changes by in a day, as a part of it.
	Interruptions float64       `json:"interruptions"`
	Volatility    float64       `json:"volatility"`
	Boot          time.Duration `json:"boot"`
	// Events asks for the log of what happened.
	Events bool `json:"events,omitempty"`
	// Notes are what was replaced for the simulation.
	Notes []workload.Note `json:"notes,omitempty"`
	// Warnings are what the controller warns of in the settings.
	Warnings []string `json:"warnings,omitempty"`
}

// Manifest is an object to apply, as JSON.
type Manifest struct {
	From string `json:"from"` // file and line
	JSON string `json:"json"`
}

// Check tells what can't be run.
func (s *Spec) Check() error {
	switch {
	case s.Workload == nil:
		return errors.New("there is no workload to simulate")
	case s.Start < 0 || s.Start >= Week || s.Start%time.Minute != 0:
		return fmt.Errorf("a start %s after Monday 00:00: want whole minutes within a week", s.Start)
	case s.Horizon < time.Minute:
		return fmt.Errorf("a horizon of %s: want at least a minute", s.Horizon)
	case s.Warmup < 0:
		return fmt.Errorf("a warm-up of %s: want 0s or more", s.Warmup)
	case s.Interruptions < 0 || s.Interruptions > 60:
		return fmt.Errorf("%g interruptions per instance and hour: want 0 to 60", s.Interruptions)
	case s.Volatility < 0 || s.Volatility > 10:
		return fmt.Errorf("a volatility of %g: want 0 to 10", s.Volatility)
	case s.Boot < time.Second:
		return fmt.Errorf("instances that boot in %s: want at least a second", s.Boot)
	}
	return s.Workload.Check()
}

// drawn are the things that another seed has otherwise.
func (s *Spec) drawn() []string {
	var out []string
	for _, x := range []struct {
		name string
		is   bool
	}{{drawnWorkload, s.Workload.Drawn}, {"spot prices", s.Volatility > 0}, {"interruptions", s.Interruptions > 0}, {"stock", true}, {"boot times", true}} {
		if x.is {
			out = append(out, x.name)
		}
	}
	return out
}

const drawnWorkload = "the workload"

// sampling is how far the points of the run's series lie apart.
func (s *Spec) sampling() time.Duration {
	for _, every := range sampleOften {
		if s.Horizon/every <= sampleShort {
			return every
		}
	}
	every := sampleEvery
	for s.Horizon/every > sampleMost {
		every *= 2
	}
	return every
}
