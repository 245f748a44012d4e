package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A layout says where one control plane keeps its things: files, ports and
// addresses.
type layout struct {
	stateDir string // certificates, kubeconfigs, configuration files, logs
	etcdDir  string // data and socket of etcd, in memory where there is room
	// etcdLock is open, and so locked, as long as etcdDir is in use. It must be
	// reachable until then: a file that the collector finalizes is unlocked, and
	// the next control plane takes the folder for a leftover.
	etcdLock *os.File

	apiserverPort, controllerManagerPort, schedulerPort, kwokPort int
	portClaims                                                    []io.Closer // held as long as the ports are in use

	serviceCIDR  *net.IPNet
	kubernetesIP net.IP // cluster IP of the apiserver, the first of the range
	dnsIP        net.IP // cluster IP of the kube-dns service, the tenth
}

func (l layout) pkiDir() string    { return filepath.Join(l.stateDir, "pki") }
func (l layout) logDir() string    { return filepath.Join(l.stateDir, "logs") }
func (l layout) configDir() string { return filepath.Join(l.stateDir, "config") }

func (l layout) kubeconfig(name string) string {
	return filepath.Join(l.stateDir, name+".kubeconfig")
}

func (l layout) logFile(component string) string {
	return filepath.Join(l.logDir(), component+".log")
}

func (l layout) serverURL() string {
	return "https://127.0.0.1:" + strconv.Itoa(l.apiserverPort)
}

// newLayout makes the folders and chooses the ports.
func newLayout(o options) (layout, error) {
	l := layout{stateDir: o.stateDir}
	_, cidr, err := net.ParseCIDR(o.serviceCIDR)
	if err != nil || cidr.IP.To4() == nil {
		return layout{}, fmt.Errorf("--service-cidr %q: want an IPv4 range such as 10.100.0.0/16", o.serviceCIDR)
	}
	if ones, _ := cidr.Mask.Size(); ones > 28 || ones < 12 {
		return layout{}, fmt.Errorf("--service-cidr %q: want a range between /12 and /28", o.serviceCIDR)
	}
	l.serviceCIDR = cidr
	l.kubernetesIP = offset(cidr.IP, 1)
	l.dnsIP = offset(cidr.IP, 10)
	for _, dir := range []string{l.stateDir, l.pkiDir(), l.logDir(), l.configDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return layout{}, fmt.Errorf("make the state folder: %w", err)
		}
	}
	l.apiserverPort = o.port
	if l.portClaims, err = choosePorts(&l.apiserverPort, &l.controllerManagerPort, &l.schedulerPort, &l.kwokPort); err != nil {
		return layout{}, err
	}
	if l.etcdDir, l.etcdLock, err = makeEtcdDir(); err != nil {
		return layout{}, fmt.Errorf("make etcd's folder: %w", err)
	}
	return l, nil
}

func offset(ip net.IP, n byte) net.IP {
	out := append(net.IP(nil), ip.To4()...)
	out[3] += n
	return out
}

// Ports are taken from below the range that systems hand out to outgoing
// connections, so that none of those takes a port between choice and use.
const (
	firstPort = 20000
	lastPort  = 31999
)

// choosePorts fills in every port that is zero and checks the others. A port
// in use is refused: a second control plane behind the port of a first would
// seem healthy because the first one answers for it.
//
// A component listens on its port seconds after the choice. Until then another
// control plane that starts must not choose the same, so each chosen port is
// claimed by a UDP socket of that number, which nothing else uses. The claims
// are to be closed at the end.
func choosePorts(ports ...*int) (claims []io.Closer, err error) {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
		if err != nil {
			closeAll(claims)
			claims = nil
		}
	}()
	for _, port := range ports {
		if *port != 0 {
			l, err := net.Listen("tcp4", loopback(*port))
			if errors.Is(err, syscall.EADDRINUSE) {
				return claims, fmt.Errorf("port %d is in use; stop what listens there or choose another --port", *port)
			}
			if err != nil {
				return claims, fmt.Errorf("take port %d: %w", *port, err)
			}
			held = append(held, l)
			continue
		}
		for attempt := 0; *port == 0; attempt++ {
			candidate := firstPort + rand.IntN(lastPort-firstPort+1)
			claim, err := net.ListenPacket("udp4", loopback(candidate))
			if err == nil {
				var l net.Listener
				if l, err = net.Listen("tcp4", loopback(candidate)); err == nil {
					held, claims = append(held, l), append(claims, claim)
					*port = candidate
					break
				}
				claim.Close()
			}
			if attempt == 100 {
				return claims, fmt.Errorf("find a port: %w", err)
			}
		}
	}
	return claims, nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func closeAll(claims []io.Closer) {
	for _, c := range claims {
		c.Close()
	}
}

// Memory that must be free in the RAM-backed folder before etcd uses it: two
// preallocated log segments of 64 MB and a database of the size that some
// thousand nodes make.
const etcdMemoryBytes = 1 << 30

// etcdDirPattern names the folders, so that later starts find those that a
// killed control plane left behind.
const etcdDirPattern = "kerf-etcd-"

// makeEtcdDir makes and locks a fresh folder for etcd, in memory if there is
// room.
func makeEtcdDir() (string, *os.File, error) {
	parent := os.TempDir()
	if ramFree("/dev/shm") >= etcdMemoryBytes {
		parent = "/dev/shm"
	}
	removeStaleEtcdDirs(parent)
	// It gets the name that others look for only once it is locked.
	fresh, err := os.MkdirTemp(parent, "kerf-new-")
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(parent, etcdDirPattern+strings.TrimPrefix(filepath.Base(fresh), "kerf-new-"))
	lock, err := lockFile(filepath.Join(fresh, "lock"))
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err != nil {
		os.RemoveAll(fresh)
		return "", nil, err
	}
	return dir, lock, nil
}

// removeEtcdDir removes the folder, then gives up its lock.
func (l layout) removeEtcdDir() {
	os.RemoveAll(l.etcdDir)
	l.etcdLock.Close()
}

// removeStaleEtcdDirs removes the folders whose control plane is gone: those
// that nobody holds locked.
func removeStaleEtcdDirs(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, etcdDirPattern+"*"))
	for _, dir := range dirs {
		lock, err := lockFile(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		os.RemoveAll(dir)
		lock.Close()
	}
}

// lockFile opens the file and locks it without waiting. The lock ends when
// the file is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// ramFree returns the free bytes of the file system at path, 0 if there is
// none.
func ramFree(path string) uint64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0
	}
	return fs.Bavail * uint64(fs.Bsize)
}
