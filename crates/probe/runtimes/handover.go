// Two goroutines and two unbuffered channels: a number goes there, its complement comes back.
// Usage: handover BLOCKS NANOSECONDS; prints a line of JSON for each block.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func rounds(n int) time.Duration {
	there, back := make(chan int), make(chan int)
	go func() {
		for range n {
			back <- ^<-there
		}
	}()
	began := time.Now()
	for i := range n {
		there <- i
		if <-back != ^i {
			panic("what came back is not the answer to what was sent")
		}
	}
	return time.Since(began)
}

func main() {
	blocks, _ := strconv.Atoi(os.Args[1])
	target, _ := strconv.ParseFloat(os.Args[2], 64)
	n := 1000
	for {
		took := float64(rounds(n))
		if took > target/2 {
			n = max(int(float64(n)*target/took), 1)
			break
		}
		n *= 2
	}
	for range blocks {
		took := float64(rounds(n))
		fmt.Printf("{\"ns\":%.3f,\"handovers\":%d}\n", took/float64(2*n), 2*n)
	}
}
