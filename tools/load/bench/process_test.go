package bench

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	found, err := parseStat([]byte("1234 (a (b) c) S 77 1 1 0 -1 4194560 500 0 0 0 12 34 5 6 20 0 1 0 100 0 0\n"))
	want := processStat{name: "a (b) c", parent: 77, own: 460 * time.Millisecond, children: 110 * time.Millisecond}
	if err != nil || found != want {
		t.Errorf("%+v %v, want %+v", found, err, want)
	}
	for _, text := range []string{"", "1 (", "1 ) (", "1 (a) S 1 2", "1 (a) S x 1 1 0 -1 4194560 500 0 0 0 12 34 5 6 20"} {
		if found, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, found)
		}
	}
}

// On Linux the usage of a process is known; elsewhere the error says that it is not.
func TestUsage(t *testing.T) {
	used, err := usageOf(os.Getpid())
	family, failed := processTreeCPU(os.Getpid())
	if runtime.GOOS != "linux" {
		if err == nil || failed == nil {
			t.Errorf("%+v %v, %v %v", used, err, family, failed)
		}
		return
	}
	if err != nil || used.rss < 1<<20 || used.peak < used.rss {
		t.Errorf("%+v %v", used, err)
	}
	if failed != nil || family < used.cpu {
		t.Errorf("%v with children, %v without: %v", family, used.cpu, failed)
	}
	if _, err := postmasterOf(os.Getpid()); err == nil {
		t.Error("this test is taken for a PostgreSQL server")
	}
	if _, err := usageOf(1 << 30); err == nil {
		t.Error("a process that does not exist has used something")
	}
}

// TestTreeOfEndingProcesses checks that the usage of a process and its children never falls while children end, whose
// usage their parent takes over.
func TestTreeOfEndingProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // TestUsage checks that nothing is measured there
	}
	command := exec.CommandContext(t.Context(), "sh", "-c",
		`for n in 1 2 3 4 5 6 7 8 9 10; do sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done' & wait; done`)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var last time.Duration
	for {
		select {
		case err := <-ended:
			if err != nil || last == 0 {
				t.Errorf("the processes used %v: %v", last, err)
			}
			return
		default:
		}
		used, err := processTreeCPU(command.Process.Pid)
		if err != nil {
			continue // it has ended
		}
		if used < last {
			t.Fatalf("%v, and before %v", used, last)
		}
		last = used
	}
}
