// What time it is at the manager. The clock here may be another, and ages are shown.

const ALIKE = 2000; // ms: what answers say of their time is not more precise
let ahead = 0;

// hear takes in the time that an answer is of.
export function hear(date) {
  const off = Date.parse(date) - Date.now();
  if (Math.abs(off - ahead) > ALIKE) ahead = Math.abs(off) > ALIKE ? off : 0;
}

export const now = () => Date.now() + ahead;
