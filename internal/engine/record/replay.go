package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// PlanBytes is the plan as it is compared: indented JSON.
func PlanBytes(p *plan.Plan) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(p); err != nil {
		return nil, fmt.Errorf("writing a plan as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// Replay solves the recorded problem again.
//
// Errors: the engine broke down on it, which is a defect worth reporting together with the file.
func Replay(d *Decision) (p *plan.Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine broke down on this problem: %v; please report it, with the file", r)
		}
	}()
	return pack.Solve(d.Problem), nil
}
