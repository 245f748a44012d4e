package truth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
)

// Simulated plays a story as a user would: with the command.
//
// Errors: those of the command, with what it said.
func Simulated(ctx context.Context, s Story, kerf string, seed uint64) (*Played, error) {
	folder, err := os.MkdirTemp("", "kerf-truth-")
	if err != nil {
		return nil, fmt.Errorf("simulating %s: %w", s.Name, err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of the system's for such files
	trace, config := filepath.Join(folder, s.Name+".csv"), filepath.Join(folder, "pool.yaml")
	for path, content := range map[string][]byte{trace: s.trace, config: pool()} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("simulating %s: %w", s.Name, err)
		}
	}
	cmd := exec.CommandContext(ctx, kerf, "simulate", "-f", config, "--workload", trace, "--horizon", Horizon.String(), "--warmup", Warmup.String(),
		"--boot", boot.String(), "--spot-interruptions", "0", "--spot-volatility", "0", "--seed", strconv.FormatUint(seed, 10), "-o", "json")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("simulating %s: %w\n%s", s.Name, err, said.String())
	}
	var report simulate.Report
	if err := json.Unmarshal(out, &report); err != nil {
		return nil, fmt.Errorf("simulating %s: reading the report: %w", s.Name, err)
	}
	if len(report.Runs) != 1 {
		return nil, fmt.Errorf("simulating %s: %d runs in the report", s.Name, len(report.Runs))
	}
	r := report.Runs[0]
	p := &Played{Launches: r.Totals.Launches}
	if r.Totals.P50 != nil && r.Totals.P95 != nil {
		p.P50, p.P95 = *r.Totals.P50, *r.Totals.P95
	}
	for _, x := range r.Series {
		p.Points = append(p.Points, Point{time.Duration(x.At) * time.Second, x.Bill, x.Spot + x.Demand + x.Other, x.Running})
	}
	return p, nil
}
