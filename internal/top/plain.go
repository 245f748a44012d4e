package top

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// WriteTable writes the nodes as a table, for where there is no terminal.
func WriteTable(w io.Writer, d *overview.Document, o NodeOptions) error {
	m := New(Options{First: d, Nodes: o}, d.At)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tNODEPOOL\tTYPE\tZONE\tCAPACITY\tCPU\tMEMORY\t"+m.priceTitle()+"\tPODS\tAGE\tSTATE\tWHY")
	for _, r := range m.rows {
		n := r.node
		if n == nil {
			continue
		}
		price := ""
		if n.Price > 0 {
			price = fmt.Sprintf("%.4f", float64(n.Price)/1e6)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%.0f%%\t%.0f%%\t%s\t%d\t%s\t%s\t%s\n", n.Name, dash(n.Pool), dash(n.InstanceType), dash(n.Zone), dash(n.CapacityType),
			100*part(n.CPU.Used, n.CPU.Has), 100*part(n.Memory.Used, n.Memory.Has), dash(price), n.Running(), m.ago(n.Created), m.state(n), clean(oneLine(m.why(n))))
	}
	return t.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return clean(text)
}
