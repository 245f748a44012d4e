package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdSocket is the name of the client socket inside etcd's folder. A socket
// needs no port and nobody but the owner of the folder can reach it.
const etcdSocket = "client.sock"

// runEtcd runs a single-member etcd that never syncs to disk: its contents
// are worthless once the control plane ends.
func runEtcd(args []string) int {
	flags := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	dir := flags.String("dir", "", "folder for the data and the client socket; removed at the end")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	// Remove the data, which may be held in memory, even if the supervisor
	// was killed and cannot.
	whenOrphaned(func() {
		os.RemoveAll(*dir)
		os.Exit(1)
	})
	if err := serveEtcd(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "run etcd:", err)
		return 1
	}
	return 0
}

func serveEtcd(dir string) error {
	cfg, err := etcdConfig(dir)
	if err != nil {
		return err
	}
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer server.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	select {
	case err := <-server.Err():
		return err
	case <-server.Server.StopNotify():
		return errors.New("the server stopped by itself")
	case <-ctx.Done():
		return nil
	}
}

func etcdConfig(dir string) (*embed.Config, error) {
	if dir == "" {
		return nil, errors.New("--dir is empty; name a folder for the data")
	}
	// In a cluster of one nobody uses the advertised addresses, but etcd wants
	// a host and a port in them.
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	client := url.URL{Scheme: "unix", Path: filepath.Join(dir, etcdSocket)}
	cfg := embed.NewConfig()
	cfg.Name = "kerf"
	cfg.Dir = filepath.Join(dir, "data")
	cfg.ListenPeerUrls = []url.URL{peer}
	cfg.AdvertisePeerUrls = []url.URL{peer}
	cfg.ListenClientUrls = []url.URL{client}
	cfg.AdvertiseClientUrls = []url.URL{peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = 4 << 30
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	return cfg, nil
}
