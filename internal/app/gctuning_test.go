package app

import (
	"slices"
	"testing"
)

func TestCalmIsToldFromBusy(t *testing.T) {
	const little, much = littlePerLook, littlePerLook + 1
	calm := slices.Repeat([]uint64{little}, calmAfter)
	for sentence, tt := range map[string]struct {
		allocates []uint64 // from look to look
		want      change   // of the last look
	}{
		"not at the first sight":   {calm[1:], asBefore},
		"after some time":          {calm, becameCalm},
		"only once":                {append(slices.Clone(calm), little), asBefore},
		"what interrupts it":       {append(append(slices.Clone(calm[1:]), much), calm[1:]...), asBefore},
		"busy at once":             {append(slices.Clone(calm), much), becameBusy},
		"and only once":            {append(slices.Clone(calm), much, much), asBefore},
		"calm again after a while": {append(append(slices.Clone(calm), much), calm...), becameCalm},
	} {
		t.Run(sentence, func(t *testing.T) {
			var p pace
			total, got := uint64(0), asBefore
			for _, n := range tt.allocates {
				total += n
				got = p.look(total)
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
	if a := allocated(); a == 0 || allocated() < a {
		t.Error("what is allocated is not known")
	}
}
