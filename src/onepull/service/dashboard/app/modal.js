/** Dialogs that are open while there is something to show. */
import { useEffect, useRef } from "../vendor/htm-preact-3.1.1.js";

/**
 * @template T
 * @param {?T} subject What the dialog shows; it is closed if there is none.
 * @param {(subject: T) => void} close Ends a subject, and no other one.
 */
export function useModal(subject, close) {
  const dialog = useRef(null);
  const shown = useRef(null);
  useEffect(() => {
    if (subject) {
      shown.current = subject;
      if (!dialog.current.open) dialog.current.showModal();
    } else if (dialog.current.open) dialog.current.close();
  }, [subject]);
  // A browser tells later that a dialog was closed; by then it may show something else.
  const closed = () => {
    if (!dialog.current.open) close(shown.current);
  };
  return { dialog, closed };
}

/** What ends a subject of a state, and no other one. */
export const ending = (set) => (subject) => set((now) => (now === subject ? null : now));
