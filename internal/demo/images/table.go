package images

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
)

// table prints what became of each kind.
func table(out io.Writer, list []booted) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAMILY\tIMAGE\tTYPE\tZONE\tCAPACITY\tREADY\tCHECKED ON THE NODE (AGAINST WHAT WAS PLANNED WITH)")
	for i := range list {
		b := &list[i]
		instance, zone, ready := "-", "-", "-"
		if b.node != nil {
			instance, zone = b.node.Labels[corev1.LabelInstanceTypeStable], b.node.Labels[corev1.LabelTopologyZone]
			ready = fmt.Sprintf("%.1f s", b.after.Seconds())
		}
		image := b.image
		if image == "" {
			image = "-"
		}
		said := strings.Join(b.checked, ", ")
		if len(b.amiss) > 0 {
			said = "FAILED: " + strings.Join(b.amiss, "; ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", b.kind.title, image, instance, zone, b.kind.capacity, ready, said)
	}
	_ = w.Flush()
}
