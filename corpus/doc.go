// Package corpus reads the texts to speak, and references to wavs that are
// already there, from the formats people have.
//
// A corpus is read as a stream, one record at a time, in memory that does not
// grow with it. A record that cannot be used is returned as a *BadLine and the
// reading goes on after it; only an error that concerns the whole corpus (no
// such file, no text column, a truncated archive) ends it.
//
//	format       extension              a record                          id                   audio
//	txt          .txt .text             a line                            none                 none
//	csv          .csv                   RFC 4180 with a header            column id            column path, audio_filepath, audio, file or wav
//	tsv          .tsv .tab              tabs and a header                 column id            the same columns
//	jsonl        .jsonl .ndjson .json   a JSON object a line              field id             the same names
//	ljspeech     .csv                   id|text|normalised, no header     first field          wavs/<id>.wav
//	nemo         .jsonl .ndjson .json   JSON lines with audio_filepath    field id             audio_filepath
//	commonvoice  .tsv                   tabs, no quotes, client_id, path  path, no extension   clips/<path>, if that is a wav
//	wavs         a folder               every .wav below it, by path      path, no extension   the wav; text from the .txt beside it
//
// The columns of csv and tsv and the fields of jsonl have the same names, in
// any case: text (or sentence, or transcript), id, lang (or locale, or
// language), voice, speed (a factor, 1 is normal), pitch (semitones) and those
// of the audio above. Only the text is required. Others are ignored.
//
// Without a format name the extension and the first lines decide:
//
//   - a folder is wavs, and .txt is always txt;
//   - .csv is csv when a column has a text name, else ljspeech when its first
//     line has '|';
//   - .tsv is commonvoice when it has client_id and sentence, else tsv;
//   - .jsonl, .ndjson and .json are nemo when the first object has
//     audio_filepath, else jsonl;
//   - anything else, standard input ("-") too, goes by its first line: '{' is
//     JSON as above, a header with tabs and a text name is tsv (or
//     commonvoice), one with commas and a text name is csv, and all that
//     remains is txt.
//
// Every file may be compressed with gzip or zstd. That is seen by its first
// bytes; for the format the extension before .gz or .zst counts.
//
// Text is UTF-8, with or without a byte order mark, with LF or CRLF. Blanks
// around a text are trimmed and nothing else about it is changed. A csv field
// may hold line breaks. A quote inside an unquoted csv field is an ordinary
// character, as for Python's csv module. A quote that opens a field and is not
// closed within 64 KiB or 200 lines costs its own line only.
package corpus
