package guestmemory

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ConfigMap is the name of the object that keeps what was learned, in the controller's own namespace. Whoever deletes it
	// has Kerf forget all of it.
	ConfigMap = "kerf-guest-memory"
	// dataKey is where the text is.
	dataKey = "memory.json"
	// keepEvery is how often it is looked whether there is something new to write, which bounds the writes in a burst.
	keepEvery = 15 * time.Second
)

// Keeper reads the ConfigMap when this process becomes the leader, and writes it when something new was learned.
type Keeper struct {
	Client    client.Client
	Reader    client.Reader // past the cache: the controller may read its own ConfigMap only, and not watch
	Namespace string
	Book      Book
	Log       *slog.Logger

	written uint64
	kept    bool // the ConfigMap was there
}

// Start runs until ctx ends. What can't be read or written is said, and costs no more than a worse estimate.
func (k *Keeper) Start(ctx context.Context) error {
	if err := k.Read(ctx); err != nil {
		k.Log.Warn("the memory sizes learned by a predecessor could not be read; they are learned anew", "configmap", k.Namespace+"/"+ConfigMap, "error", err)
	}
	t := time.NewTicker(keepEvery)
	defer t.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		switch err := k.Write(ctx); {
		case err == nil:
			said = ""
		case err.Error() != said && ctx.Err() == nil:
			said = err.Error()
			k.Log.Warn("learned memory sizes could not be kept; a restart forgets them", "error", err)
		}
	}
}

// Read takes in what the ConfigMap has; nothing is not an error.
func (k *Keeper) Read(ctx context.Context) error {
	stored := &corev1.ConfigMap{}
	err := k.Reader.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: ConfigMap}, stored)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s/%s: %w", k.Namespace, ConfigMap, err)
	}
	k.kept = true
	if text := stored.Data[dataKey]; text != "" {
		return k.Book.Take(text)
	}
	return nil
}

// Write brings the ConfigMap up to date, without a call when nothing is new. Where it was deleted meanwhile, what was learned is
// forgotten but for what is new.
func (k *Keeper) Write(ctx context.Context) error {
	if k.Book.Version() == k.written {
		return nil
	}
	stored := &corev1.ConfigMap{}
	err := k.Reader.Get(ctx, client.ObjectKey{Namespace: k.Namespace, Name: ConfigMap}, stored)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading ConfigMap %s/%s: %w", k.Namespace, ConfigMap, err) // what is new stays new
	}
	if apierrors.IsNotFound(err) && k.kept {
		k.kept = false
		k.Book.Forget()
		k.Log.Info("the ConfigMap was deleted: what was learned of nodes before is forgotten", "configmap", k.Namespace+"/"+ConfigMap)
	}
	text, version := k.Book.Text()
	switch {
	case apierrors.IsNotFound(err):
		err = k.Client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: ConfigMap, Labels: map[string]string{"app.kubernetes.io/managed-by": "kerf"}},
			Data:       map[string]string{dataKey: text},
		})
	case stored.Data[dataKey] != text:
		if stored.Data == nil {
			stored.Data = map[string]string{}
		}
		stored.Data[dataKey] = text
		err = k.Client.Update(ctx, stored)
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s/%s: %w", k.Namespace, ConfigMap, err)
	}
	k.written, k.kept = version, true
	return nil
}
