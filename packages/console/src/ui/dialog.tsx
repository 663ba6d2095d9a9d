import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

export interface DialogProps {
  readonly isOpen: boolean
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Whether it cannot be closed by Escape. */
  readonly isFirm?: boolean
  /** Whether nothing of the page can be read behind it. */
  readonly isOpaque?: boolean
}

/** What had the focus before the dialog that opened last; a dialog that follows another at once has the same opener. */
let lastOpener: Element | null = null

/** A modal dialog: takes the focus, gives it back, closes by Escape. What it holds is there while it is open. */
export function Dialog({ isOpen, title, onClose, children, isFirm = false, isOpaque = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    if (element === null || !isOpen) return
    const opener = document.activeElement === document.body ? lastOpener : document.activeElement
    lastOpener = opener
    element.showModal()
    return () => {
      element.close()
      // Browsers give the focus back only from a dialog that is still in the page; this one may have left it.
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true })
      // What has opened it may be drawn anew since, or cannot be pressed now.
      if (document.activeElement === document.body)
        document.querySelector('main')?.focus({ preventScroll: true })
    }
  }, [isOpen])
  if (!isOpen) return null
  return (
    <dialog
      ref={dialog}
      class={isOpaque ? 'opaque' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (!isFirm) onClose()
      }}
      onClose={() => {
        // Browsers ask once alone: they close a dialog at the second Escape, whatever was said to the first.
        if (dialog.current === null) return
        if (isFirm) dialog.current.showModal()
        else onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}
