package control

import (
	"net/http"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// getSwitches lists the behaviours that have a name, with what they stand for.
func (h *Handler) getSwitches(*http.Request) (any, error) { return world.Switches(), nil }

func (h *Handler) postSwitch(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if !h.world.SwitchOn(name) {
		return nil, notFound("there is no switch %q; GET %sswitches lists them", name, Prefix)
	}
	return map[string]string{"on": name}, nil
}

func (h *Handler) deleteSwitch(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if !h.world.SwitchOff(name) {
		return nil, notFound("the switch %q is not on", name)
	}
	return map[string]string{"off": name}, nil
}
