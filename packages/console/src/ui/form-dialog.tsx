import type { Problem, Result } from '@steeple/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAction } from '../api/use-query.ts'
import { Button, type ButtonProps } from './button.tsx'
import { ConfirmDialog } from './dialog.tsx'

/** A question or a form in a dialog that is drawn while it is open: another one knows nothing of why this one failed. */
export interface FormDialogProps<Data> {
  readonly title: string
  /** What the button says: the verb of what will be done. */
  readonly confirm: string
  /** What will be done, in a sentence. */
  readonly what?: string
  /** Takes something away. */
  readonly isDanger?: boolean
  /** Whether something that no field asks for by itself is to be chosen first. */
  readonly isDisabled?: boolean
  readonly act: () => Promise<Result<Data>>
  readonly onDone: (data: Data) => void
  readonly onClose: () => void
  /** The fields; they may depend on why it failed last. */
  readonly children?: ComponentChildren | ((error: Problem | undefined) => ComponentChildren)
}

/** Fields under a sentence, sent by one button; why it failed is said there, and nothing that was filled in is lost. */
export function FormDialog<Data>({ what, children, act, onDone, ...dialog }: FormDialogProps<Data>) {
  const { run, isBusy, error } = useAction(act)
  const send = async (): Promise<void> => {
    const result = await run()
    if (result?.ok === true) onDone(result.data)
  }
  return (
    <ConfirmDialog isOpen {...dialog} isBusy={isBusy} error={error} onConfirm={() => void send()}>
      {what === undefined ? null : <p>{what}</p>}
      {children === undefined ? null : (
        <div class="stack">{typeof children === 'function' ? children(error) : children}</div>
      )}
    </ConfirmDialog>
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
  const done = (data: Data): void => {
    close()
    onDone(data)
  }
  return (
    <>
      <Button {...button} onClick={() => setOpen(true)} />
      {isOpen ? <FormDialog {...form} onDone={done} onClose={close} /> : null}
    </>
  )
}
