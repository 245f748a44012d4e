package house_test

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/house"
)

func TestProof(t *testing.T) {
	house.Run(t, house.Options{Log: slog.NewTextHandler(os.Stderr, nil)}, func(h *house.House) {
		h.Pass(5 * time.Minute)
		var nodes corev1.NodeList
		if err := h.Client.List(h.T.Context(), &nodes); err != nil {
			t.Fatal(err)
		}
		fmt.Println(len(nodes.Items), h.API.Requests(), len(h.AWS.World.Instances()))
	})
}
