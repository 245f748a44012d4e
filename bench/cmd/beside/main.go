// Command beside runs Kerf's controller and upstream's one after the other in the same local cluster and prints what each
// took. Interrupted, it prints what it has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/bench"
	"github.com/kerf-sh/kerf/bench/beside"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("beside", flag.ExitOnError)
	only := flags.String("only", "^calls$", "stories whose name matches this regular expression")
	who := flags.String("controller", "", "kerf or upstream alone")
	list := flags.Bool("list", false, "print the stories and end")
	still := flags.Duration("still", time.Minute, "a scale-down is over when the bill has not moved for so long")
	built := flags.String("binary", "", "with -controller: a program that is built already, to measure another commit with the same stories")
	keep := flags.Bool("keep", false, "keep the logs")
	markdown := flags.String("markdown", "", "write the tables to this file too, as Markdown")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -only names stories", flags.Arg(0))
	}
	if *built != "" && *who == "" {
		return errors.New("-binary: say with -controller whose program it is")
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if *list {
		for _, s := range beside.Stories(*still) {
			fmt.Printf("%-12s %s\n", s.Name, s.What)
		}
		return nil
	}
	folder, err := os.MkdirTemp("", "kerf-beside-bin-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of the system's for such files
	binaries := map[string]string{*who: *built}
	var tables []*bench.Table
	for _, s := range beside.Stories(*still) {
		if !match.MatchString(s.Name) {
			continue
		}
		var rows []*beside.Figures
		for _, c := range beside.Controllers() {
			if *who != "" && *who != c.Name {
				continue
			}
			if binaries[c.Name] == "" {
				bench.Say("building %s", c.Name)
				if binaries[c.Name], err = c.Build(ctx, folder); err != nil {
					return err
				}
			}
			bench.Say("%s with %s", s.Name, c.Name)
			f, err := beside.Tell(ctx, s, c, binaries[c.Name], *keep, bench.Say)
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				return err
			}
			_, calls := f.CallsPerMinute()
			bench.Say("calls a minute: %s", calls)
			for _, p := range f.Curve {
				bench.Say("%6.1f s: %d instances, $%.3f/h", p.At.Seconds(), p.Instances, float64(p.MicroUSD)/1e6)
			}
			rows = append(rows, f)
		}
		if len(rows) > 0 {
			tables = append(tables, beside.Table(s, rows))
		}
		if ctx.Err() != nil {
			break
		}
	}
	for _, t := range tables {
		if err := t.Text(os.Stdout); err != nil {
			return err
		}
	}
	return bench.WriteMarkdown(*markdown, tables...)
}
