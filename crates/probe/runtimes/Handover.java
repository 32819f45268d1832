import java.util.concurrent.SynchronousQueue;

/**
 * Two virtual threads and two synchronous queues: a number goes there, its complement comes back.
 * Usage: Handover BLOCKS NANOSECONDS; prints a line of JSON for each block.
 */
class Handover {
    /** After so long the compiler has done what it will. */
    static final long WARM = 2_000_000_000L;

    static long rounds(int n) throws InterruptedException {
        var there = new SynchronousQueue<Integer>();
        var back = new SynchronousQueue<Integer>();
        var took = new long[1];
        var second = Thread.ofVirtual().start(() -> {
            try {
                for (int i = 0; i < n; i++) {
                    back.put(~there.take());
                }
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        var first = Thread.ofVirtual().start(() -> {
            try {
                long began = System.nanoTime();
                for (int i = 0; i < n; i++) {
                    there.put(i);
                    if (back.take() != ~i) {
                        return;
                    }
                }
                took[0] = System.nanoTime() - began;
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        first.join();
        if (took[0] == 0) {
            throw new IllegalStateException("what came back is not the answer to what was sent");
        }
        second.join();
        return took[0];
    }

    public static void main(String[] args) throws InterruptedException {
        int blocks = Integer.parseInt(args[0]);
        double target = Double.parseDouble(args[1]);
        int n = 1000;
        long until = System.nanoTime() + WARM;
        while (true) {
            double took = rounds(n);
            if (took > target / 2) {
                n = (int) Math.max(n * target / took, 1);
                if (System.nanoTime() > until) {
                    break;
                }
            } else {
                n *= 2;
            }
        }
        for (int block = 0; block < blocks; block++) {
            double each = (double) rounds(n) / (2L * n);
            System.out.println("{\"ns\":" + each + ",\"handovers\":" + 2L * n + "}");
        }
    }
}
