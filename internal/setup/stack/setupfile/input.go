package setupfile

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// inputOf tells what a target gets in place of the event.
func inputOf(transformed, constant bool, path string) awssetup.Input {
	switch {
	case transformed:
		return awssetup.Transformer
	case constant:
		return awssetup.Constant
	case path != "" && path != awssetup.WholeEvent:
		return awssetup.Path
	}
	return ""
}

// otherBus is the name of an event bus, given by name or ARN, if it is not the one that AWS puts its own events on.
func otherBus(bus string) string {
	if bus = bus[strings.LastIndexByte(bus, '/')+1:]; bus == awssetup.DefaultBus {
		return ""
	}
	return bus
}
