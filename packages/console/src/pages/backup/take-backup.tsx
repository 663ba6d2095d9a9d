import { useState } from 'preact/hooks'
import { download } from '../../api/download.ts'
import { useAction } from '../../api/use-query.ts'
import { t } from '../../text/index.ts'
import { Button } from '../../ui/button.tsx'
import { bytesText } from '../../ui/bytes.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { ErrorNotice, Notice } from '../../ui/notice.tsx'
import { Progress } from '../../ui/progress.tsx'
import { toast } from '../../ui/toast.tsx'
import { drawPassphrase, LEAST_CHARACTERS, passphraseHeader, strengthOf } from './passphrase.ts'

/** Packing begins with a copy of the store. */
const LONGEST_MS = 600_000

/** Takes a backup and gives it to the person as a file, encrypted under a passphrase. */
export function TakeBackup() {
  const [passphrase, setPassphrase] = useState('')
  const [again, setAgain] = useState('')
  const [isPlain, setPlain] = useState(false)
  const [drawn, setDrawn] = useState('')
  const [bytes, setBytes] = useState(0)
  const take = useAction(() => {
    setBytes(0)
    const headers = passphraseHeader(isPlain ? '' : passphrase)
    return download('/v1/backup', { headers, timeoutMs: LONGEST_MS, retries: 0, onProgress: setBytes })
  })
  const isOther = !isPlain && again !== '' && again !== passphrase
  const run = async (): Promise<void> => {
    if (!isPlain && again !== passphrase) return
    const result = await take.run()
    if (result?.ok !== true) return
    const { name, bytes: size } = result.data
    toast({ text: t('backup.taken', { name, size: bytesText(size) }) })
  }
  const draw = (): void => {
    const text = drawPassphrase()
    setDrawn(text)
    setPassphrase(text)
    setAgain(text)
  }
  return (
    <section class="card" aria-label={t('backup.take')}>
      <h2>{t('backup.take')}</h2>
      <p>{t('backup.take.what')}</p>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        {isPlain ? null : (
          <>
            <Field
              label={t('backup.passphrase')}
              help={t('backup.passphrase.help', { count: LEAST_CHARACTERS })}
              type="password"
              autocomplete="new-password"
              value={passphrase}
              onInput={setPassphrase}
              minLength={LEAST_CHARACTERS}
              isRequired
            />
            <Meter passphrase={passphrase} />
            <Field
              label={t('backup.passphrase.again')}
              error={isOther ? t('backup.passphrase.other') : undefined}
              type="password"
              autocomplete="new-password"
              value={again}
              onInput={setAgain}
              isRequired
            />
            <div>
              <Button onClick={draw}>{t('backup.passphrase.draw')}</Button>
            </div>
            {drawn === '' ? null : (
              <Notice tone="warn">
                <p>{t('backup.passphrase.drawn')}</p>
                <code>{drawn}</code> <Copy text={drawn} />
              </Notice>
            )}
          </>
        )}
        <Checkbox
          label={t('backup.plain')}
          help={t('backup.plain.help')}
          isChecked={isPlain}
          onChange={setPlain}
        />
        {take.error === undefined ? null : <ErrorNotice error={take.error} />}
        {take.isBusy ? <Progress label={t('backup.taking', { size: bytesText(bytes) })} /> : null}
        <Button type="submit" kind="primary" isBusy={take.isBusy}>
          {take.isBusy ? t('backup.taking', { size: bytesText(bytes) }) : t('backup.take')}
        </Button>
      </form>
    </section>
  )
}

function Meter({ passphrase }: { readonly passphrase: string }) {
  if (passphrase === '') return null
  const { share, word } = strengthOf(passphrase)
  const text = t(`backup.strength.${word}`)
  return (
    <div role="status">
      <meter
        aria-label={t('backup.strength')}
        min={0}
        max={1}
        low={0.5}
        high={0.9}
        optimum={1}
        value={share}
      />
      <span class="fine">{text}</span>
    </div>
  )
}
