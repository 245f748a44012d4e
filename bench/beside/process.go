package beside

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has taken so far.
type usage struct {
	cpu time.Duration
	// resident memory now and at its highest, bytes.
	rss, peak int64
}

// ticks of the kernel's clock in a second; Linux says 100 to programs on every architecture that Go runs on.
const ticks = 100

// read asks the kernel (proc(5)).
func read(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("reading what the controller takes: %w", err)
	}
	// The command's name stands in parentheses and may hold anything.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("reading what the controller takes: %q", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	u := usage{cpu: time.Duration(user+system) * time.Second / ticks}
	status, err3 := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err := errors.Join(err1, err2, err3); err != nil {
		return usage{}, fmt.Errorf("reading what the controller takes: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64) // lines of other kinds are not looked at
		switch f[0] {
		case "VmRSS:":
			u.rss = kib << 10
		case "VmHWM:":
			u.peak = kib << 10
		}
	}
	return u, nil
}
