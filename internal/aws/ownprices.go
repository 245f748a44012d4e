package aws

import (
	"fmt"
	"os"
	"sync"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud/overlay"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// ownPrices keeps the rules of the user's price file.
type ownPrices struct {
	mu      sync.Mutex
	path    string
	content string
	refused string // content that made no sense, which is told once
	current *pricefile.Rules
}

func (o *ownPrices) rules() *pricefile.Rules {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current
}

// read reads the file at the start, when what is wrong with it is the end.
func (o *ownPrices) read(path string) error {
	if path == "" {
		return nil
	}
	o.path = path
	_, err := o.reread()
	return err
}

// reread reports whether other rules count now. On an error those before stay.
func (o *ownPrices) reread() (bool, error) {
	data, err := os.ReadFile(o.path)
	if err != nil {
		return false, fmt.Errorf("reading the price file (KERF_PRICE_FILE): %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.current != nil && string(data) == o.content || string(data) == o.refused && o.refused != "" {
		return false, nil
	}
	rules, err := pricefile.Parse(o.path, data)
	if err != nil {
		o.refused = string(data)
		return false, fmt.Errorf("reading the price file (KERF_PRICE_FILE): %w", err)
	}
	o.content, o.refused, o.current = string(data), "", rules
	return true, nil
}

// rereadPrices takes in a price file that has changed.
func (p *Provider) rereadPrices() {
	if p.opts.PriceFile == "" {
		return
	}
	changed, err := p.ownPrices.reread()
	if err != nil {
		p.log.Error("the price file can't be used; the prices read before stay", "error", err)
	}
	if changed {
		p.log.Info("the price file has changed", "file", p.opts.PriceFile, "rules", p.ownPrices.rules().Len())
	}
}

// withOwnPrices are the class's types at the prices of the user's own. Callers hold mu.
func (c *classCatalog) withOwnPrices(rules *pricefile.Rules, region string) []*catalog.Type {
	if rules != c.rules {
		overlays := rules.In(region)
		catalog.SortOverlays(overlays)
		c.rules, c.own = rules, overlay.NewLayer(overlays, nil)
	}
	return c.own.Types(c.types)
}
