/** The width available for a drawing; in print, the paper's. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RefObject } from 'preact';
import { onPrint, PRINT_WIDTH } from '../print';
import { onScheme } from '../theme';

/** The element to measure and its width; re-renders when the width or the colours change. */
export function useWidth(): [RefObject<HTMLDivElement>, number] {
  const host = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [, recoloured] = useState(0);
  useLayoutEffect(() => {
    const measure = () => host.current && setWidth(Math.max(200, host.current.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    if (host.current) observer.observe(host.current);
    const ends = [
      () => observer.disconnect(),
      onPrint((printing) => (printing ? setWidth(PRINT_WIDTH) : measure())),
      onScheme(() => recoloured((n) => n + 1)),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, []);
  return [host, width];
}
