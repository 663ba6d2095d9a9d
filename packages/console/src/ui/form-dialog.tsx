import { useState } from 'preact/hooks'
import { Button, type ButtonProps } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Form, type FormProps } from './form.tsx'

/** A question or a form in a dialog that is drawn while it is open: another one knows nothing of why this one failed. */
export interface FormDialogProps<Data>
  extends Pick<
    FormProps<Data>,
    'act' | 'onDone' | 'done' | 'children' | 'icon' | 'error' | 'isDisabled' | 'isStale'
  > {
  readonly title: string
  /** What the button says: the verb of what will be done. */
  readonly confirm: string
  /** What will be done, in a sentence. */
  readonly what?: string
  /** Takes something away. */
  readonly isDanger?: boolean
  readonly onClose: () => void
}

/** Fields under a sentence, sent by one button. With something to say when it is done, it closes then. */
export function FormDialog<Data>({
  title,
  confirm,
  what,
  isDanger = false,
  onClose,
  onDone,
  children,
  ...form
}: FormDialogProps<Data>) {
  return (
    <Dialog isOpen title={title} onClose={onClose}>
      <Form
        {...form}
        submit={confirm}
        kind={isDanger ? 'danger' : 'primary'}
        onDone={(data, etag) => {
          onDone?.(data, etag)
          if (form.done !== undefined) onClose()
        }}
        onCancel={onClose}
      >
        {(state) => (
          <>
            {what === undefined ? null : <p>{what}</p>}
            {typeof children === 'function' ? children(state) : children}
          </>
        )}
      </Form>
    </Dialog>
  )
}

/** A button that opens such a dialog, which closes when it is done. */
export function DialogButton<Data>({
  button,
  onDone,
  ...form
}: Omit<FormDialogProps<Data>, 'onClose'> & { readonly button: ButtonProps }) {
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
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
