package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
)

// A request waits for others: for one that asks for the same pools, or for the rate at which an account may ask. What was given up
// meanwhile would be launched to be terminated.
func TestARequestThatNobodyWantsAnyMoreIsNotSent(t *testing.T) {
	const hangs = 10 * time.Minute
	slow := func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
		if n == 1 {
			time.Sleep(hangs)
		}
		return carryOut(), nil
	}
	throttled := func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
		if n <= 2 {
			return nil, &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
		}
		return carryOut(), nil
	}
	for name, tc := range map[string]struct {
		answer  func(int, func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error)
		before  bool // another request for the pool is under way
		claims  []string
		givenUp []string
		asked   int
		got     int // how many of the claims have an instance
	}{
		"behind one that hangs":                 {answer: slow, before: true, claims: []string{"c-1", "c-2"}, givenUp: []string{"c-1", "c-2"}, asked: 1},
		"behind one that hangs, one is wanted":  {answer: slow, before: true, claims: []string{"c-1", "c-2"}, givenUp: []string{"c-1"}, asked: 2, got: 2},
		"behind one that hangs, all are wanted": {answer: slow, before: true, claims: []string{"c-1"}, asked: 2, got: 1},
		"while the rate is limited":             {answer: throttled, claims: []string{"c-1"}, givenUp: []string{"c-1"}, asked: 1},
		"while the rate is limited, wanted":     {answer: throttled, claims: []string{"c-1"}, asked: 3, got: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, settled := newFleets(), 0
				api.answer = tc.answer
				b := begun(api, Options{
					Sequential: func(*Request) bool { return true },
					Place: func(r *Request, n Need) Placement {
						p := firstSubnets(r, n)
						p.Settle = func(map[string]int) { settled++ }
						return p
					},
				})
				launch := func(name string) chan error {
					done := make(chan error, 1)
					go func() {
						_, err := b.Launch(t.Context(), orderOf(name, "m5.large"))
						done <- err
					}()
					return done
				}
				requests := 1
				if tc.before {
					requests++
					launch("a-before")
					time.Sleep(time.Second)
				}
				done := map[string]chan error{}
				for _, name := range tc.claims {
					done[name] = launch(name)
				}
				time.Sleep(500 * time.Millisecond) // the batch is closed, and a refused request rests
				for _, name := range tc.givenUp {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
					if _, err := b.Found(ctx, orderOf(name, "m5.large")); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("found for %s: %v", name, err)
					}
					cancel()
				}
				time.Sleep(hangs)
				got := 0
				for name, done := range done {
					err := <-done
					found, foundErr := b.Found(t.Context(), orderOf(name, "m5.large"))
					if foundErr != nil || (found == nil) != (err != nil) || err != nil && !errors.Is(err, errUnwanted) {
						t.Errorf("launching for %s: %v; found: %v, %v", name, err, found, foundErr)
					}
					if found != nil {
						got++
					}
				}
				if api.asked != tc.asked || got != tc.got || settled != requests {
					t.Errorf("EC2 was asked %d times, want %d; %d claims have an instance, want %d; %d of %d requests gave their addresses back", api.asked, tc.asked, got, tc.got, settled, requests)
				}
			})
		})
	}
}

// What a request holds in its subnets is given back when the last of its claims is forgotten, though its outcome stays unknown.
func TestARequestThatNobodyRemembersGivesItsAddressesBack(t *testing.T) {
	lost := func(int, func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) { return nil, errReplyLost }
	for name, forget := range map[string]func(b *Launcher, name string){
		"they are swept": func(b *Launcher, name string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.claims["uid-"+name].touched = time.Now().Add(-2 * remember)
			b.swept = time.Time{}
			b.sweepLocked(time.Now())
		},
		"they are forgotten": func(b *Launcher, name string) { b.Forget("uid-" + name) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, settled := newFleets(), 0
				api.answer = lost
				b := begun(api, Options{Place: func(r *Request, n Need) Placement {
					p := firstSubnets(r, n)
					p.Settle = func(map[string]int) { settled++ }
					return p
				}})
				done := make(chan error, 2)
				for _, name := range []string{"c-1", "c-2"} {
					go func() {
						_, err := b.Launch(t.Context(), orderOf(name, "m5.large"))
						done <- err
					}()
				}
				for range 2 {
					if err := <-done; !errors.Is(err, errDoubt) {
						t.Fatalf("launching: %v", err)
					}
				}
				if api.asked != 1 {
					t.Fatalf("EC2 was asked %d times, want once for both", api.asked)
				}
				for i, name := range []string{"c-1", "c-2"} {
					forget(b, name)
					if settled != i {
						t.Errorf("%d claims are forgotten, and the addresses were given back %d times", i+1, settled)
					}
				}
			})
		})
	}
}

// It is sent again while the last of its claims is forgotten.
func TestARequestThatIsSentAgainForNobodyGivesItsAddressesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, settled := newFleets(), 0
		api.answer = func(n int, _ func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
			if n > 1 {
				time.Sleep(time.Minute)
			}
			return nil, errReplyLost
		}
		b := begun(api, Options{Place: func(r *Request, n Need) Placement {
			p := firstSubnets(r, n)
			p.Settle = func(map[string]int) { settled++ }
			return p
		}})
		launch := func() {
			if _, err := b.Launch(t.Context(), orderOf("c", "m5.large")); !errors.Is(err, errDoubt) {
				t.Errorf("launching: %v", err)
			}
		}
		launch()
		again := make(chan struct{})
		go func() { launch(); close(again) }()
		synctest.Wait()
		b.Forget("uid-c")
		if settled != 0 {
			t.Error("the addresses were given back while the request was on its way")
		}
		<-again
		if settled != 1 || api.asked != 2 {
			t.Errorf("the addresses were given back %d times, EC2 was asked %d times", settled, api.asked)
		}
	})
}
