// Command rehearse moves a local cluster from upstream's Karpenter to Kerf and back while both are at work, and tells what
// becomes of the nodes and pods. It ends with status 1 if anything was replaced, moved or refused that should not have been.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kerf-sh/kerf/bench/rehearsal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	flags := flag.NewFlagSet("rehearse", flag.ExitOnError)
	compat := flags.String("compat", "karpenter", "settings.kerf.compat: karpenter or kerf")
	crash := flags.Bool("crash", false, "kill each controller in the middle of its work; by default the next one is rolled out beside it")
	oneRelease := flags.Bool("one-release", false, "upgrade the release karpenter-crd to the chart kerf-crd; by default kerf-crd is a release that takes the CRDs over")
	rest := flags.Duration("rest", 15*time.Minute, "how long the cluster is watched after each swap, when what was under way is finished")
	bin := flags.String("bin", "", "folder with programs kerf and upstream that are built already")
	keep := flags.Bool("keep", false, "keep the logs")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -h", flags.Arg(0))
	}
	folder, err := os.MkdirTemp("", "kerf-rehearsal-")
	if err != nil {
		return err
	}
	defer func() {
		if *keep || err != nil {
			fmt.Fprintln(os.Stderr, "logs in", folder)
			return
		}
		_ = os.RemoveAll(folder) // a folder of the system's for such files
	}()
	binaries := map[string]string{"kerf": filepath.Join(*bin, "kerf"), "upstream": filepath.Join(*bin, "upstream")}
	if *bin == "" {
		say("Building both controllers.")
		if binaries, err = rehearsal.Build(ctx, folder); err != nil {
			return err
		}
	}
	findings, err := rehearsal.Run(ctx, rehearsal.Options{Compat: *compat, Crash: *crash, OneRelease: *oneRelease, Rest: *rest, Binaries: binaries, Folder: folder, Say: say})
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return fmt.Errorf("%d things are wrong", len(findings))
	}
	say("Nothing was replaced, moved or refused but what was under way.")
	return nil
}

// say tells the story with the time of the day.
func say(format string, args ...any) {
	fmt.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
