package settings

import (
	"regexp"
	"slices"
	"testing"
)

// What a setting is said to accept is what its reader accepts. A form can't bound durations and numbers, nor judge base64.
func TestWhatIsAcceptedIsWhatIsRead(t *testing.T) {
	texts := []string{
		"-5s", "0s", "59s", "60s", "61s", "59.9s", "9999ms", "60000ms", "0m", "0.5m", "1m", "1m0s", "1h", "90s", "10s", "1m30s", "24h", "8760h", "µs", "1d", "10 s", "soon", "0", "1", "-1", "16", "70000", "0.075", "2", ".5", "1e-3", "1.5.2", "--1", "1,5", "", " ",
		"true", "TRUE", "false", "t", "yes", "on", "off", "unlimited", "info", "INFO", "warn", "Respect", "respect", "Ignore", "ignore", "Strict", "BestEffort", "besteffort",
		"karpenter", "karpentr", "kerf", "observe", "replace", "network", "interfaces", "https://a.b", "ftp://a", "a.b_c", "_a", "a b", "QQ==", "Q!",
	}
	amount := regexp.MustCompile(`^[-+.0-9eE]+(ms|s|m|h|m30s|m0s)?$`)
	for _, row := range table() {
		a, ok := Accepted(EnvName(row.flag))
		if !ok {
			t.Fatalf("%s is not known", row.flag)
		}
		form := regexp.MustCompile(a.Pattern)
		for _, text := range texts {
			accepted := form.MatchString(text)
			if len(a.Choices) > 0 {
				accepted = slices.Contains(a.Choices, text)
			}
			err := Check(EnvName(row.flag), text)
			judged := len(a.Choices) > 0 || a.Pattern != "" && row.flag != "cluster-ca-bundle" && !amount.MatchString(text)
			switch {
			case err == nil && !accepted && text != "": // what is empty counts as not set
				t.Errorf("--%s reads %q, and is said not to accept it (%s)", row.flag, text, a.Pattern)
			case err != nil && accepted && judged:
				t.Errorf("--%s is said to accept %q (%s), and does not: %v", row.flag, text, a.Pattern, err)
			}
		}
	}
	for _, text := range []string{"5s", "59.9s", "0", "0s"} {
		if a, _ := Accepted("AMI_REFRESH_INTERVAL"); regexp.MustCompile(a.Pattern).MatchString(text) {
			t.Errorf("an interval of %s is not refused", text)
		}
	}
	if _, ok := Accepted("NO_SUCH"); ok || Check("NO_SUCH", "") == nil {
		t.Error("a setting is known that there is none of")
	}
}
