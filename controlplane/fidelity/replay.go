package fidelity

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Save writes what there is to know of a run into the folder: its objects, problem, plan and bindings as JSON, and the
// decision as a file that "kerf replay" reads. It returns the path of the first.
func (r *Run) Save(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("save the run of seed %d: %w", r.Case.Seed, err)
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", fmt.Errorf("save the run of seed %d: %w", r.Case.Seed, err)
	}
	path := filepath.Join(dir, fmt.Sprintf("seed-%d.json", r.Case.Seed))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", fmt.Errorf("save the run of seed %d: %w", r.Case.Seed, err)
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("seed-%d%s", r.Case.Seed, record.Extension)))
	if err != nil {
		return "", fmt.Errorf("save the run of seed %d: %w", r.Case.Seed, err)
	}
	defer f.Close()
	if err := record.Write(f, &record.Decision{Kerf: "fidelity", Problem: r.Problem, Plan: r.Plan}); err != nil {
		return "", fmt.Errorf("save the run of seed %d: %w", r.Case.Seed, err)
	}
	return path, f.Close()
}

// Load reads the case of a file that Save wrote, which may be compressed by gzip if its name ends in .gz.
func Load(path string) (*Case, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read a replay file: %w", err)
	}
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read replay file %s: %w", path, err)
	}
	if r.Case == nil || len(r.Case.Pools) == 0 {
		return nil, fmt.Errorf("read replay file %s: it holds no case", path)
	}
	return r.Case, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if filepath.Ext(path) != ".gz" {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
