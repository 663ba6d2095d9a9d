import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t, textIf } from '../text/index.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Form, type FormProps } from './form.tsx'

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

/** The end of a dialog that asks for nothing, behind what else can be done there. */
export function Closing({
  onClose,
  kind = 'plain',
  children,
}: Pick<ButtonProps, 'kind' | 'children'> & { readonly onClose: () => void }) {
  return (
    <div class="actions">
      {children}
      <Button kind={kind} onClick={onClose}>
        {t('ui.close')}
      </Button>
    </div>
  )
}

/** A question or a form in a dialog that is drawn while it is open: another one knows nothing of why this one failed. */
export interface FormDialogProps<Data>
  extends Pick<
    FormProps<Data>,
    'act' | 'onDone' | 'done' | 'children' | 'icon' | 'error' | 'isDisabled' | 'isStale'
  > {
  /** The key of its texts: the verb of what will be done, and behind it `.title`, `.what`, `.go` and `.done` where there are such. */
  readonly text?: string
  /** What these name. */
  readonly values?: Readonly<Record<string, string | number>>
  readonly title?: string
  /** What the button says: the verb of what will be done. */
  readonly confirm?: string
  /** What will be done, in a sentence. */
  readonly what?: string | undefined
  /** Takes something away. */
  readonly isDanger?: boolean
  readonly onClose: () => void
}

/** Fields under a sentence, sent by one button. With something to say when it is done, it closes then. */
export function FormDialog<Data>({
  text = '',
  values,
  isDanger = false,
  onClose,
  onDone,
  children,
  ...form
}: FormDialogProps<Data>) {
  const own = (part: string): string | undefined => textIf(text + part, values)
  const verb = own('') ?? ''
  const what = form.what ?? own('.what')
  const done = form.done ?? own('.done')
  return (
    <Dialog isOpen title={form.title ?? own('.title') ?? verb} onClose={onClose}>
      <Form
        {...form}
        submit={form.confirm ?? own('.go') ?? verb}
        kind={isDanger ? 'danger' : 'primary'}
        done={done}
        onDone={(data, etag) => {
          onDone?.(data, etag)
          if (done !== undefined) onClose()
        }}
        onCancel={onClose}
      >
        {(state) => (
          <>
            {what === undefined || what === '' ? null : <p>{what}</p>}
            {typeof children === 'function' ? children(state) : children}
          </>
        )}
      </Form>
    </Dialog>
  )
}

/** A button that opens such a dialog, which closes when it is done. It says its verb, where it says nothing else. */
export function DialogButton<Data>({
  button,
  onDone,
  ...form
}: Omit<FormDialogProps<Data>, 'onClose'> & { readonly button?: ButtonProps }) {
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  return (
    <>
      <Button children={textIf(form.text ?? '', form.values)} {...button} onClick={() => setOpen(true)} />
      {isOpen ? (
        <FormDialog
          {...form}
          onDone={(data, etag) => {
            close()
            onDone?.(data, etag)
          }}
          onClose={close}
        />
      ) : null}
    </>
  )
}
