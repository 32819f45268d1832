export function find(): unknown;
export function attempt(): unknown;
export function sheet(): unknown;
export function large(rows?: number, columns?: number): unknown;
export function markup(): unknown;
export function empty(): unknown;
export function newer(): unknown;
