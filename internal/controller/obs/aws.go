package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// AWS are the calls to AWS: requests as the controller makes them, and the attempts of each.
type AWS struct {
	requests, attempts, throttles       *prometheus.CounterVec
	duration, attemptDuration, retry    *prometheus.HistogramVec
	batchSize, batchTime                *prometheus.HistogramVec
	terminationFailures                 *prometheus.CounterVec
	UserDataBytes                       *prometheus.GaugeVec
	InstanceTypeCPU, InstanceTypeMemory *OnRead
	OfferingPrice, OfferingAvailable    *OnRead
}

// batchSizes are buckets of how many calls share one request; EC2 takes 1,000 at most.
var batchSizes = []float64{1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500, 750, 1000}

func awsCalls(t table) AWS {
	call := []string{"service", "action", "code"}
	return AWS{
		requests:        t.counter("aws_sdk_go_request_total", "Requests to AWS, by the HTTP status of the last attempt; code is 0 where no answer came.", call...),
		duration:        t.histogram("aws_sdk_go_request_duration_seconds", "Time of requests to AWS, their retries included.", call...),
		attempts:        t.counter("aws_sdk_go_request_attempt_total", "Attempts of requests to AWS: a request that is retried makes several.", call...),
		attemptDuration: t.histogram("aws_sdk_go_request_attempt_duration_seconds", "Time of single attempts of requests to AWS.", call...),
		retry: add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "aws_sdk_go_request_retry_count", Help: "Retries of each request to AWS.",
			Buckets: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}, call)),
		throttles: t.counter("kerf_aws_throttled_attempts_total", "Attempts of requests that AWS throttled.", "service", "action"),

		batchSize: add(t, prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "karpenter_cloudprovider_batcher_batch_size",
			Help: "How many calls share one request to EC2, by the kind of request.", Buckets: batchSizes}, []string{"batcher"})),
		batchTime: t.histogram("karpenter_cloudprovider_batcher_batch_time_seconds", "How long the first of the calls that share a request to EC2 waited for the others.", "batcher"),

		terminationFailures: t.counter("karpenter_cloudprovider_instance_termination_failures_total", "Calls to terminate an instance that failed.", "zone", "zone_id"),
		UserDataBytes:       t.gauge("karpenter_ec2nodeclasses_userdata_bytes", "Size of the user data with which instances of a class were launched last, before base64. EC2 takes 16,384 bytes.", "nodeclass"),

		InstanceTypeCPU:    t.gaugeOnRead("karpenter_cloudprovider_instance_type_cpu_cores", "vCPUs of an instance type that some NodePool's class can run.", "instance_type"),
		InstanceTypeMemory: t.gaugeOnRead("karpenter_cloudprovider_instance_type_memory_bytes", "Memory of an instance type, as its node reports it as capacity.", "instance_type"),
		OfferingPrice:      t.gaugeOnRead("karpenter_cloudprovider_instance_type_offering_price_estimate", "Price of an offering per hour, in dollars (in China in yuan), the lowest where NodeOverlays give NodePools different ones.", "instance_type", "capacity_type", "zone"),
		OfferingAvailable:  t.gaugeOnRead("karpenter_cloudprovider_instance_type_offering_available", "1 where some NodePool could launch the offering now, else 0.", "instance_type", "capacity_type", "zone"),
	}
}

// Request notes a request to AWS, with the HTTP status of its last answer (0: none) and how often it was retried.
func (a AWS) Request(service, action, code string, took time.Duration, retries int) {
	a.requests.WithLabelValues(service, action, code).Inc()
	a.duration.WithLabelValues(service, action, code).Observe(took.Seconds())
	a.retry.WithLabelValues(service, action, code).Observe(float64(max(0, retries)))
}

// Attempt notes one attempt of a request.
func (a AWS) Attempt(service, action, code string, took time.Duration, throttled bool) {
	a.attempts.WithLabelValues(service, action, code).Inc()
	a.attemptDuration.WithLabelValues(service, action, code).Observe(took.Seconds())
	if throttled {
		a.throttles.WithLabelValues(service, action).Inc()
	}
}

// Batch notes that calls were joined to one request.
func (a AWS) Batch(batcher string, size int, waited time.Duration) {
	a.batchSize.WithLabelValues(batcher).Observe(float64(size))
	a.batchTime.WithLabelValues(batcher).Observe(waited.Seconds())
}

// TerminationFailed notes that an instance could not be terminated.
func (a AWS) TerminationFailed(zone, zoneID string) {
	a.terminationFailures.WithLabelValues(zone, zoneID).Inc()
}
