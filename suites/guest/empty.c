/* Does nothing: its time is that of a start. */
int main(void) { return 0; }
