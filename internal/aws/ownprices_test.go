package aws_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

func TestAPriceFileDecidesWhatIsLaunched(t *testing.T) {
	s := startSim(t, awssim.Options{})
	file := filepath.Join(t.TempDir(), "prices.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("prices:\n- match: {type: m5.2xlarge, capacityType: on-demand, region: us-east-1}\n  price: 0.01\n")
	var seen pricing.State
	p := newProvider(t, s, func(o *aws.Options) {
		o.PriceFile, o.PricesSeen = file, func(x pricing.State) { seen = x }
	})
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	price := func() catalog.MicroUSD {
		t.Helper()
		for _, o := range typesOf(t, p, class)["m5.2xlarge"].Offerings {
			if o.CapacityType == catalog.OnDemand {
				return o.Price
			}
		}
		return -1
	}
	if got := price(); got != 10_000 {
		t.Errorf("the price is %d", got)
	}
	m, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	if m.InstanceType != "m5.2xlarge" {
		t.Errorf("launched %s: EC2 was not told our order", m.InstanceType)
	}
	if same := typesOf(t, p, class)["m5.2xlarge"]; same != typesOf(t, p, class)["m5.2xlarge"] {
		t.Error("the same question got another type")
	}

	write("prices:\n- factor: 0.5\n")
	p.RefreshOnce(t.Context())
	if got := price(); got != 192_000 {
		t.Errorf("after a change the price is %d, want half of the list's", got)
	}
	write("prices:\n- factor: half\n")
	p.RefreshOnce(t.Context())
	if got := price(); got != 192_000 {
		t.Errorf("a file that makes no sense changed the price to %d", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.RefreshOnce(t.Context())
	if got := price(); got != 192_000 {
		t.Errorf("a file that is gone changed the price to %d", got)
	}
	if seen.OnDemandAt.IsZero() || seen.SpotAt.IsZero() || seen.EmbeddedOf.IsZero() || seen.BorrowedFrom != "" {
		t.Errorf("the state of prices is %+v", seen)
	}
}

func TestAPriceFileThatMakesNoSenseEndsTheStart(t *testing.T) {
	startSim(t, awssim.Options{})
	sess, err := session.New(t.Context(), session.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prices.yaml")
	for content, want := range map[string]string{"prices:\n- factor: half\n": "prices.yaml:2: factor", "": "no such file"} {
		if content != "" {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			_ = os.Remove(file)
		}
		if _, err := aws.New(sess, aws.Options{ClusterName: "c", PriceFile: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
