package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// shortHash is how many digits of a commit are shown.
const shortHash = 12

// revision is the commit of Kerf that is measured, with "-dirty" when the tree had changes, or "unknown". The go command
// stamps it into what it builds, but not into what it runs: there git is asked, in the directory of this file.
func revision(ctx context.Context) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if r := stamped(info.Settings); r != "" {
			return r
		}
	}
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		return "unknown" // built with -trimpath
	}
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
	git.Dir = filepath.Dir(file)
	out, err := git.Output()
	if err != nil {
		return "unknown" // no git, or not a checkout
	}
	return strings.TrimSpace(string(out))
}

// stamped is the commit that the go command noted, empty when it noted none.
func stamped(settings []debug.BuildSetting) string {
	commit, suffix := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(shortHash, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}
