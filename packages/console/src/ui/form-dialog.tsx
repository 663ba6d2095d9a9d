import { useState } from 'preact/hooks'
import { textIf } from '../text/index.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Form, type FormProps } from './form.tsx'

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
            {what === undefined ? null : <p>{what}</p>}
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
