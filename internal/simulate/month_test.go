package simulate

import (
	"strings"
	"testing"
	"time"
)

// A comparison has what a month costs, and how much less or more.
func TestAComparisonHasAmountsOfAMonth(t *testing.T) {
	a, b := runsOf("a", 10, 12), runsOf("b", 9, 10)
	c, err := Compare([]string{"a", "b"}, [][]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "the month", c.Configurations[0].Monthly.mean(), 11*730./24)
	near(t, "the difference", c.difference("b", "bill").Monthly.mean(), -1.5*730/24)
	if c.difference("b", "moved").Monthly != nil {
		t.Error("a number of pods has an amount of a month")
	}
	text, data, page := written(t, &Report{Compared: []string{"a", "b"}, Comparison: c})
	for _, want := range []string{"bill of a month of 730 hours", "$335", ", −$45.63 ± "} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for _, want := range []string{"bill of a month of 730 hours", "$335", "−$45.63 ± $193 a month. "} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(data, `"monthlyBill":{"mean":334.58`) || strings.Contains(text, "over and over") {
		t.Error(data, text)
	}
}

// A month of three hours is no month.
func TestAMonthOfAFewHoursIsWarnedOf(t *testing.T) {
	r := runsOf("", 5)[0]
	r.SimulatedSeconds, r.HorizonSeconds, r.Played = 3*3600, 3*3600, "Monday 06:00 to 09:00 UTC"
	text, _, page := written(t, &Report{Runs: []*Result{r}})
	const want = "amounts of a month are those of the 3 hours that were played (Monday 06:00 to 09:00 UTC), over and over"
	if !strings.Contains(text, "NOTE: the "+want) || !strings.Contains(page, want) {
		t.Error(text)
	}
	if got := standsFor(24*time.Hour, ""); got != "" {
		t.Error(got)
	}
}
